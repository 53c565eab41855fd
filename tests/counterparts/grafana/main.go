// Command grafana reads a dashboard from standard input by the types that are generated from Grafana's published schema,
// and says every key and value that is not in it. It ends with 1 if there is one.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	plugins.RegisterDefaultPlugins()
	text, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = check(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check reads panels one by one: inside a dashboard, where a panel may also be a row, their faults are not named.
func check(text []byte) error {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	var panels []json.RawMessage
	if err := json.Unmarshal(fields["panels"], &panels); err != nil {
		return fmt.Errorf("panels: %w", err)
	}
	found := []error{}
	for number, panel := range panels {
		read := dashboard.Panel{}
		found = append(found, placed(fmt.Sprintf("panels[%d]", number), read.UnmarshalJSONStrict(panel), read.Validate))
	}
	fields["panels"] = json.RawMessage("[]")
	rest, _ := json.Marshal(fields)
	read := dashboard.Dashboard{}
	return errors.Join(append(found, placed("dashboard", read.UnmarshalJSONStrict(rest), read.Validate))...)
}

// placed is the error with its place; the types return lists of errors, also empty ones.
func placed(place string, err error, validate func() error) error {
	if err == nil || err.Error() == "" {
		err = validate()
	}
	if err == nil || err.Error() == "" {
		return nil
	}
	return fmt.Errorf("%s: %w", place, err)
}

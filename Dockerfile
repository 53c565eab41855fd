# Tollens: `tollens up`; with --entrypoint python and `-m collector` a collector alone (give it --no-healthcheck).
# Runs as nobody in particular, on a read-only root; all it writes is below /data, and what is temporary in /tmp, which the
# engine cannot do without. Both are volumes; where VOLUME is not looked at, as in Kubernetes, mount something there.

FROM python:3.11.14-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/tollens
WORKDIR /source
COPY requirements.txt .
RUN /opt/tollens/bin/pip install --quiet --require-hashes --only-binary :all: -r requirements.txt
COPY . .
RUN /opt/tollens/bin/pip install --quiet --no-deps . \
    && rm -rf /opt/tollens/lib/python3.11/site-packages/pip* /opt/tollens/bin/pip* \
    && /opt/tollens/bin/python -m compileall -q /opt/tollens/lib/python3.11/site-packages

FROM python:3.11.14-slim-bookworm
COPY --from=build /opt/tollens /opt/tollens
RUN install -d -o 10001 -g 10001 -m 0750 /data
ENV PATH=/opt/tollens/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HOME=/data
USER 10001:10001
WORKDIR /data
VOLUME ["/data", "/tmp"]
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/readyz', timeout=4)"]
ENTRYPOINT ["tollens"]
CMD ["up", "--data", "/data"]

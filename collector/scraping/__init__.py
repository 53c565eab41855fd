"""What the scraper is made of."""

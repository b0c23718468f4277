"""Who does it: equal nodes that share a crawl."""

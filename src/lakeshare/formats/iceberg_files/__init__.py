"""The files of Iceberg tables: manifest lists and manifests, what snapshots reach, and which snapshots are kept."""

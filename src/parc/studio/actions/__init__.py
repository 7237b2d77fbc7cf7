"""What the studio does to clips, paths and terrain, at once or as a long job."""

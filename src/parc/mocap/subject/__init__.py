"""A recorded person on the character: landmarks, scale, poses, and fits of whole clips."""

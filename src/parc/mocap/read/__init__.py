"""Raw motion capture from files: any skeleton, in metres with z up, with the joints' names understood."""

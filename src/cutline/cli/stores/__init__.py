"""Commands on a store of campaigns."""

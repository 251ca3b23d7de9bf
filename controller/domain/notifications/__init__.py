"""Events of releases for people and programs: which facts a status holds, and when each is sent."""

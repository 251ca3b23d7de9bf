"""What the process tells about itself: metrics, health, logs. It observes; nothing in it decides."""

"""Every call that leaves this installation: HTTP, webhooks, models (house §5). One guard, one transport."""

"""What people read: tables on the terminal, pull-request text, pages."""

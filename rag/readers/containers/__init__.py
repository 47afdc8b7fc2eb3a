"""Files that hold files: mail with attachments, mailboxes, archives."""

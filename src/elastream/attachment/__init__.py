"""The loop inside somebody else's driver: `attach`, and the handle that it gives."""

from elastream.attachment.entry import attach
from elastream.attachment.handle import Attachment, Status, SwitchedOff

__all__ = ["Attachment", "Status", "SwitchedOff", "attach"]

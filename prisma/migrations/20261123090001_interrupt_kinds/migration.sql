-- Reads all rows, while others write.
ALTER TABLE interrupt VALIDATE CONSTRAINT interrupt_kind;

/**
 * Collects bytes that are read as a whole. They are copied, because the Buffer object of a chunk takes about 160 bytes, and a server can send
 * one byte in each chunk.
 */
export class ByteCollector {
  length = 0;
  private bytes = Buffer.alloc(0);

  add(chunk: Buffer): void {
    const length = this.length + chunk.length;
    if (length > this.bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.bytes.length));
      this.bytes.copy(larger, 0, 0, this.length);
      this.bytes = larger;
    }
    chunk.copy(this.bytes, this.length);
    this.length = length;
  }

  /** Returns the bytes so far, and begins again without any. */
  take(): Buffer {
    const bytes = this.bytes.subarray(0, this.length);
    this.bytes = Buffer.alloc(0);
    this.length = 0;
    return bytes;
  }

  toText(): string {
    return this.bytes.toString('utf8', 0, this.length);
  }
}

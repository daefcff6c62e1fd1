import { tooMuchToRead } from '../chat.errors.js';

/** UTF-8 bytes of the texts that one read gives at most: a page has a hundred rows, and a text may have many MiB. */
const mostBytes = 67_108_864;

/** To be asked before the texts are read. Throws `too_large`. */
export function assertReadable(bytes: number): void {
  if (bytes > mostBytes) throw tooMuchToRead(mostBytes);
}

import { AppError } from './app-error.js';

/** Maximum size of the texts of one read, in UTF-8 bytes: a page has up to a hundred rows, and a text may have many MiB. */
const maxBytes = 67_108_864;

/** Call it before reading the texts. Throws `too_large`. */
export function assertReadable(bytes: number): void {
  if (bytes <= maxBytes) return;
  const message = `These texts have more than ${maxBytes / 1_048_576} MiB together: ask for smaller pages, or fewer fields`;
  throw new AppError({ code: 'too_large', message });
}

import { AppError } from './app-error.js';

/** UTF-8 bytes of the texts that one read gives at most: a page has a hundred rows, and a text may have many MiB. */
const mostBytes = 67_108_864;

/** To be asked before the texts are read. Throws `too_large`. */
export function assertReadable(bytes: number): void {
  if (bytes <= mostBytes) return;
  const message = `These texts have more than ${mostBytes / 1_048_576} MiB together: ask for smaller pages, or fewer fields`;
  throw new AppError({ code: 'too_large', message });
}

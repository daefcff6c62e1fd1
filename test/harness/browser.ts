import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

import { type Browser, chromium } from 'playwright-core';

const names = ['chromium', 'chromium-browser', 'google-chrome'];

/** The browser of this machine (`CHROMIUM`, else one on the path); undefined if there is none. `.ci/run` installs the Debian package. */
export const chromiumPath = [
  ...(process.env['CHROMIUM'] === undefined ? [] : [process.env['CHROMIUM']]),
  ...(process.env['PATH'] ?? '').split(delimiter).flatMap((folder) => names.map((name) => join(folder, name))),
].find(isExecutable);

/** A real browser without a window. The caller closes it. */
export function openBrowser(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error('Chromium was not found. Install it: `apt-get install chromium`.');
  // As root, as in containers, chromium has no sandbox; what it opens are our own pages on loopback.
  return chromium.launch({
    executablePath: chromiumPath,
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
    timeout: 100_000,
  });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

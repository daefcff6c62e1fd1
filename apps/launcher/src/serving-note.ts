import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const fileOf = (dataDir: string) => join(dataDir, 'serving');

/** Writes to the data directory where this process serves, for a second process. Returns a function that removes the note. */
export async function leaveServingNote(dataDir: string, url: string): Promise<() => Promise<void>> {
  await writeFile(fileOf(dataDir), `${process.pid} ${url}\n`);
  return async () => {
    // Another process on the same directory, each with the Postgres of DATABASE_URL, may have replaced the note.
    if ((await readServingNote(dataDir, process.pid)) !== undefined) await rm(fileOf(dataDir), { force: true });
  };
}

/** Where process `pid` serves; undefined when it has not written a note, or the process of the note has exited. */
export async function readServingNote(dataDir: string, pid: unknown): Promise<string | undefined> {
  const note = await readFile(fileOf(dataDir), 'utf8').catch(() => '');
  const [owner, url] = note.trim().split(' ');
  return owner === String(pid) ? url : undefined;
}

import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const fileOf = (dataDir: string) => join(dataDir, 'serving');

/** Writes the address of this process to the data directory, for other processes. Returns a function that removes the note. */
export async function leaveServingNote(dataDir: string, url: string): Promise<() => Promise<void>> {
  await writeFile(fileOf(dataDir), `${process.pid} ${url}\n`);
  return async () => {
    // Another process with the same directory and its own DATABASE_URL may have replaced the note.
    if ((await readServingNote(dataDir, process.pid)) !== undefined) await rm(fileOf(dataDir), { force: true });
  };
}

/** The address of process `pid`; undefined if it has written no note, or the process of the note has exited. */
export async function readServingNote(dataDir: string, pid: unknown): Promise<string | undefined> {
  const note = await readFile(fileOf(dataDir), 'utf8').catch(() => '');
  const [owner, url] = note.trim().split(' ');
  return owner === String(pid) ? url : undefined;
}

import { access, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const fileOf = (dataDir: string) => join(dataDir, 'sample-has-run');

/** Whether an earlier start on this data directory has started the sample job. */
export async function sampleHasRun(dataDir: string): Promise<boolean> {
  return access(fileOf(dataDir)).then(
    () => true,
    () => false,
  );
}

/** Records that the sample job was started, so that later starts do not start another. */
export async function noteSample(dataDir: string): Promise<void> {
  await writeFile(fileOf(dataDir), '');
}

import { NightshiftError } from '@nightshift/client';

import { notFound } from '../cli.errors.js';

/** For `catch`: a job that is not there, with where to look; everything else is thrown on. */
export function noSuchJob(id: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof NightshiftError && error.code === 'not_found')) throw error;
    throw notFound(`Job ${id}`, (command) => `List your jobs: ${command('jobs')}`);
  };
}

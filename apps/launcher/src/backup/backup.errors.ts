import { AppError } from '#platform';

export function noDataToBackUp(dataDir: string): AppError {
  return new AppError({
    code: 'no_installation',
    message:
      `${dataDir} contains no database. Run this in the folder of \`npm start\`, name its data directory with --data-dir, ` +
      'or set DATABASE_URL.',
  });
}

export function noRestoreTarget(dataDir: string): AppError {
  return new AppError({
    code: 'no_installation',
    message:
      `${dataDir} contains no secret of an installation. Correct --data-dir; or, for a new data directory, create it and copy ` +
      "the backed-up installation's secret to it first (or set NIGHTSHIFT_SECRET).",
  });
}

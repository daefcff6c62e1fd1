import { describe, expect, it } from '@jest/globals';

import { AppError } from '../../errors/app-error.js';
import { toArchive } from './archive.js';

const list = `;
; Archive created at 2026-11-23 08:11:38 UTC
;     dbname: nightshift
;     Dumped from database version: 18.4
;     Dumped by pg_dump version: 18.6 (Debian 18.6-3)
;
6; 2615 16390 SCHEMA - pgboss postgres
221; 1259 16441 TABLE public _migration postgres
222; 1259 16452 TABLE public job nightshift_owner
`;

function refused(text: string): string {
  try {
    toArchive(text, 'x.dump');
  } catch (error) {
    if (error instanceof AppError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return '';
}

describe('toArchive', () => {
  it('reads the version of the server and the owners', () => {
    expect(toArchive(list, 'x.dump')).toEqual({ serverMajor: 18, owners: ['postgres', 'nightshift_owner'] });
  });

  it('rejects an archive without a Nightshift database', () => {
    expect(refused(list.replace('_migration', 'orders'))).toBe(
      'not_a_backup: x.dump is not a backup of Nightshift: it has no table of migrations.',
    );
  });
});

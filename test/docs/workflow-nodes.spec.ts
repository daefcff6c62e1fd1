import { readFileSync, writeFileSync } from 'node:fs';

import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';

import { humanInputActions } from '#approvals';

import { baseFields, hitl } from '../../libs/workflows/src/definition/node-fields.js';
import { isOwnType, nodeTypes, schemas } from '../../libs/workflows/src/definition/node-types.js';
import { validateWorkflow } from '../../libs/workflows/src/definition/validation/validate.js';
import { describedFields, type FieldDescription } from '../harness/described-fields.js';
import { around } from '../harness/workflow-document.js';

const file = new URL('../../docs/workflow-nodes.md', import.meta.url);

const common = describedFields(z.object(baseFields));
const namesOfAll = new Set(common.map(({ name }) => name));
/** A person is asked in the same way everywhere. */
const apart = new Set(['hitl']);
const types = nodeTypes.map((type) => {
  const own = describedFields(schemas[type], apart).filter(({ name }) => !namesOfAll.has(name));
  return { type, fields: own };
});

function tableOf(fields: readonly FieldDescription[]): string {
  if (fields.length === 0) return 'Nothing of its own.';
  const rows = fields.map(
    ({ name, type, fallback, isRequired, meaning }) =>
      `| \`${name}\` | ${type} | ${isRequired ? 'required' : fallback === null ? '' : `\`${fallback}\``} | ${meaning} |`,
  );
  return ['| field | type | default | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

const sections = [
  ['Every node', common] as const,
  ...types.map(({ type, fields }) => [`\`${type}\`${isOwnType(type) ? ' ¹' : ''}`, fields] as const),
  ['`hitl` of agents and routers', describedFields(hitl)] as const,
];

describe('docs/workflow-nodes.md', () => {
  it('lists every field as the code reads it', () => {
    const text = readFileSync(file, 'utf8');
    const tables = sections.map(([title, fields]) => `## ${title}\n\n${tableOf(fields)}`).join('\n\n');
    const generated = text.replace(
      /<!-- generated: fields -->[^]*<!-- end -->/,
      () => `<!-- generated: fields -->\n\n${tables}\n\n<!-- end -->`,
    );
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync(file, generated);
    else expect(text).toBe(generated);
  });

  it('describes the effect of each answer for each mode and each node with requests', () => {
    const [, answers = ''] = readFileSync(file, 'utf8').split('## Know the effect of a decision');
    const [modes = '', questions = ''] = answers.split('Nodes that are requests to a person');
    const rows = (text: string) => text.split('\n').filter((line) => line.startsWith('| '));
    for (const [header = ''] of [rows(modes), rows(questions)])
      expect(humanInputActions.filter((action) => !header.includes(`\`${action}\``))).toEqual([]);
    const named = (words: readonly string[], text: string) =>
      words.filter((word) => rows(text).some((row) => row.split('|')[1]?.includes(`\`${word}\``)));
    const all = ['approval', 'input', 'review'];
    expect(named(all, modes)).toEqual(all);
    expect(named(['approval', 'input'], questions)).toEqual(['approval', 'input']);
  });

  it('explains each field', () => {
    const all = sections.flatMap(([title, fields]) => fields.map((field) => ({ title, ...field })));
    expect(all.filter(({ meaning }) => meaning === '')).toEqual([]);
  });

  it('marks a field as required when a node cannot be saved without it', () => {
    const required = types.flatMap(({ type, fields }) =>
      fields
        .filter(({ name, isRequired }) => isRequired && !/[.[]/.test(name))
        .map(({ name }) => [type, name] as const),
    );
    expect(required.length).toBeGreaterThan(5);
    for (const [type, name] of required) {
      const json: unknown = JSON.parse(JSON.stringify(around([type, { [name]: undefined }])));
      const { errors } = validateWorkflow(json, { strict: true });
      expect(errors.map(({ path }) => path)).toEqual([`/nodes/1/data/${name}`]);
    }
  });
});

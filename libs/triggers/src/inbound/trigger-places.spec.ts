import { describe, expect, it } from '@jest/globals';

import { type FileTargets, placeTriggers } from './trigger-places.js';

const acme = { id: 'w-1', name: 'Acme Inc' };
const globex = { id: 'w-2', name: 'Globex' };
const shop = { id: 'c-1', name: 'shop', workspaceId: globex.id };
const placed = (database: string, changes: Partial<FileTargets> = {}) =>
  placeTriggers({ workspaces: [acme, globex], connections: [shop], fallback: undefined, ...changes })(database);

describe('placeTriggers', () => {
  it.each(['w-1', 'Acme Inc', 'acme-inc'])('finds a workspace by %s', (database) => {
    expect(placed(database)).toBe(acme);
  });

  it.each(['c-1', 'shop'])('finds the workspace of a connection by %s', (database) => {
    expect(placed(database)).toBe(globex);
  });

  it('prefers a workspace to a connection of the same name, and any id to a name', () => {
    expect(placed('globex', { connections: [{ ...shop, name: 'globex', workspaceId: acme.id }] })).toBe(globex);
    expect(placed('c-1', { workspaces: [acme, globex, { id: 'w-3', name: 'c-1' }] })).toBe(globex);
  });

  it('prefers TRIGGERS_WORKSPACE to the name of a connection, which any user can choose, but not to its id', () => {
    expect(placed('shop', { fallback: 'acme-inc' })).toBe(acme);
    expect(placed('c-1', { fallback: 'acme-inc' })).toBe(globex);
  });

  it('uses the only workspace for a database without a name of its own', () => {
    expect(placed('default', { workspaces: [acme], connections: [] })).toBe(acme);
  });

  it('reports a database name that matches several workspaces, several connections, or nothing', () => {
    const twins = [acme, { id: 'w-3', name: 'acme-inc' }];
    expect(placed('acme-inc', { workspaces: twins })).toBe('"acme-inc" names 2 workspaces: use an id');
    expect(placed('shop', { connections: [shop, { ...shop, id: 'c-2', workspaceId: acme.id }] })).toBe(
      '"shop" names connections of 2 workspaces: use the id of one, or set TRIGGERS_WORKSPACE',
    );
    expect(placed('other')).toBe('database "other" names no workspace and no connection: set TRIGGERS_WORKSPACE');
    expect(placed('other', { fallback: 'gone' })).toBe(
      'database "other" names no workspace and no connection, and TRIGGERS_WORKSPACE=gone names no workspace',
    );
  });
});

import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';

import { mapInSlices } from '#platform';

import { parseDocument, type WorkflowDocument } from '../definition/document.js';
import { toGraph, type WorkflowGraph } from '../definition/graph.js';
import { DefinitionsRepository, type StoredDefinition } from './definitions.repository.js';

/** Identifies a version of a workflow. */
export interface VersionRef {
  readonly id: string;
  readonly version: number;
}

/** The content of one version, parsed once. */
export class VersionInUse {
  private made: WorkflowGraph | undefined;

  constructor(
    readonly json: unknown,
    private readonly document: WorkflowDocument,
    /** UTF-16 units of its text. */
    readonly length: number,
  ) {}

  get meta(): WorkflowDocument['meta'] {
    return this.document.meta;
  }

  /** Throws `workflow_not_runnable`. */
  get graph(): WorkflowGraph {
    this.made ??= toGraph(this.document);
    return this.made;
  }
}

/** Versions never change, so their parsed content is cached. The least recently used versions are dropped first. */
@Injectable()
export class VersionsInUse {
  private readonly kept = new LRUCache<string, VersionInUse>({
    max: 200,
    maxSize: 16_777_216,
    sizeCalculation: ({ length }) => length,
  });

  constructor(private readonly definitions: DefinitionsRepository) {}

  /** In the order of `refs`; undefined: the version does not exist. */
  async load(workspaceId: string, refs: readonly VersionRef[]): Promise<readonly (VersionInUse | undefined)[]> {
    const wanted = new Map(refs.map((ref) => [keyOf(workspaceId, ref), ref]));
    const found = new Map([...wanted.keys()].map((key) => [key, this.kept.get(key)]));
    const missing = [...wanted].filter(([key]) => found.get(key) === undefined).map(([, ref]) => ref);
    await mapInSlices(await this.definitions.pinned(workspaceId, missing), (stored) => {
      const version = read(stored);
      if (version === undefined) return;
      found.set(keyOf(workspaceId, stored), version);
      this.kept.set(keyOf(workspaceId, stored), version);
    });
    return refs.map((ref) => found.get(keyOf(workspaceId, ref)));
  }
}

function keyOf(workspaceId: string, { id, version }: VersionRef): string {
  return `${workspaceId} ${id} ${version}`;
}

/** Undefined: it is not a workflow document. */
function read({ definition }: StoredDefinition): VersionInUse | undefined {
  const json: unknown = JSON.parse(definition);
  const parsed = parseDocument(json);
  return parsed.ok ? new VersionInUse(json, parsed.document, definition.length) : undefined;
}

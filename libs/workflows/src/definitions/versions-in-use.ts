import { Injectable } from '@nestjs/common';

import { parseDocument, type WorkflowDocument } from '../definition/document.js';
import { toGraph, type WorkflowGraph } from '../definition/graph.js';
import { DefinitionsRepository } from './definitions.repository.js';

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

/** Limits of the cache: a number of versions, and the total length of their texts. */
const max = { versions: 200, length: 16_777_216 } as const;

/** Versions never change, so their parsed content is cached. The least recently used versions are dropped first. */
@Injectable()
export class VersionsInUse {
  private readonly kept = new Map<string, VersionInUse>();
  private length = 0;

  constructor(private readonly definitions: DefinitionsRepository) {}

  /** In the order of `refs`; undefined: the version does not exist. */
  async load(workspaceId: string, refs: readonly VersionRef[]): Promise<readonly (VersionInUse | undefined)[]> {
    const wanted = new Map(refs.map((ref) => [keyOf(workspaceId, ref), ref]));
    const missing = [...wanted].filter(([key]) => !this.kept.has(key)).map(([, ref]) => ref);
    const found = new Map<string, VersionInUse>();
    for (const { id, version, definition } of await this.definitions.pinned(workspaceId, missing)) {
      const json: unknown = JSON.parse(definition);
      const parsed = parseDocument(json);
      if (!parsed.ok) continue;
      found.set(keyOf(workspaceId, { id, version }), new VersionInUse(json, parsed.document, definition.length));
    }
    const all = refs.map((ref) => this.kept.get(keyOf(workspaceId, ref)) ?? found.get(keyOf(workspaceId, ref)));
    refs.forEach((ref, i) => {
      this.keep(keyOf(workspaceId, ref), all[i]);
    });
    return all;
  }

  private keep(key: string, version: VersionInUse | undefined): void {
    if (version === undefined) return;
    this.drop(key);
    this.kept.set(key, version);
    this.length += version.length;
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= max.versions && this.length <= max.length) return;
      this.drop(oldest);
    }
  }

  private drop(key: string): void {
    this.length -= this.kept.get(key)?.length ?? 0;
    this.kept.delete(key);
  }
}

function keyOf(workspaceId: string, { id, version }: VersionRef): string {
  return `${workspaceId} ${id} ${version}`;
}

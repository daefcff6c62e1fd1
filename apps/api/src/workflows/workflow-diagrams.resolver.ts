import { Args, Context, Parent, ResolveField, Resolver } from '@nestjs/graphql';

import type { Job } from '#jobs';
import { type DiagramFormat, type Workflow, WorkflowDiagrams } from '#workflows';

import type { GraphqlContext } from '../graphql/graphql-context.js';
import { JobModel } from '../jobs/job.model.js';
import { DiagramFormatEnum } from './workflow.enums.js';
import { WorkflowModel } from './workflow.model.js';

/** It reads a whole definition, and draws it. */
const complexity = 1_000;
const formatText = { type: () => DiagramFormatEnum, description: 'How it is drawn.' };

/** The picture of a draft. */
@Resolver(() => WorkflowModel)
export class WorkflowDiagramResolver {
  constructor(private readonly diagrams: WorkflowDiagrams) {}

  @ResolveField(() => String, { description: 'The draft as a picture, faults and all.', complexity })
  diagram(
    @Parent() { id }: Workflow,
    @Args('format', formatText) format: DiagramFormat,
    @Context() { member }: GraphqlContext,
  ): Promise<string> {
    return this.diagrams.ofDraft(member, id, format);
  }
}

/** The picture of a run. */
@Resolver(() => JobModel)
export class JobDiagramResolver {
  constructor(private readonly diagrams: WorkflowDiagrams) {}

  @ResolveField(() => String, {
    nullable: true,
    description: 'Of a workflow job: what it runs as a picture, nodes coloured by where they stand.',
    complexity,
  })
  diagram(
    @Parent() { id }: Job,
    @Args('format', formatText) format: DiagramFormat,
    @Context() { scope }: GraphqlContext,
  ): Promise<string | null> {
    return this.diagrams.ofJob(scope, id, format);
  }
}

import { Field, ObjectType, Query, Resolver } from '@nestjs/graphql';

import { RequireAbility } from '#auth/api';
import { Json, listCost } from '#platform/api';

import { commonNodeSchema, type ListedNodeType, listNodeTypes } from '../plugin-nodes/list-node-types.js';
import { PluginNodes } from '../plugin-nodes/plugin-nodes.js';

/** A type of workflow node, for editors. */
@ObjectType('WorkflowNodeType', {
  description: 'A type of node that workflows may use: built in, or defined by a plugin.',
})
export class WorkflowNodeTypeModel {
  @Field(() => String, { description: 'The `type` of the node in a definition.' })
  type!: string;

  @Field(() => String, { description: 'The name that people read.' })
  title!: string;

  @Field(() => String, { nullable: true, description: 'What a node of this type does.' })
  description!: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'A name of an icon, or a data URL of an image. Null: the editor chooses one.',
  })
  icon!: string | null;

  @Field(() => String, { nullable: true, description: 'The plugin that defines it. Null: it is built in.' })
  plugin!: string | null;

  @Field(() => Json, { description: 'JSON Schema of the members of `data` that only this type has.' })
  inputSchema!: unknown;

  @Field(() => Json, { nullable: true, description: 'JSON Schema of what the node returns. Null: any text or JSON.' })
  outputSchema!: unknown;

  @Field(() => Json, { description: 'JSON Schema of the members of `data` that nodes of every type have.' })
  commonSchema!: unknown;

  @Field(() => [String], {
    description: 'Output handles where edges may begin. Some types have more, which depend on the data of the node.',
  })
  outputHandles!: string[];
}

/** Lists the types of nodes, so that editors can build forms for them. */
@Resolver(() => WorkflowNodeTypeModel)
export class NodeTypesResolver {
  constructor(private readonly plugins: PluginNodes) {}

  @RequireAbility('read', 'Workflow')
  @Query(() => [WorkflowNodeTypeModel], {
    description:
      'The types of nodes that workflows may use: built-in types first, then types of the plugins of the process that responds.',
    complexity: listCost(40),
  })
  workflowNodeTypes(): readonly (ListedNodeType & { commonSchema: unknown })[] {
    return listNodeTypes(this.plugins.list()).map((type) => ({ ...type, commonSchema: commonNodeSchema }));
  }
}

import { isJsonObject } from '../definition/json.js';
import { fillJson } from '../definition/template.js';
import { defineNode } from './define-node.js';
import { handOn } from './settlements.js';
import { lookupOf } from './template-lookup.js';
import { refusal } from './to-node-error.js';

/** Runs the code of a plugin with the node's data after its templates were filled. */
export const pluginNode = defineNode({
  type: 'plugin',
  run: async (context) => {
    const given = fillJson(context.node.data.given, lookupOf(context));
    if (!isJsonObject(given)) throw refusal('Invalid data: it is not an object');
    const ran = await context.ports.runPlugin(context.node.typeName, given);
    return ran.type === 'waiting' ? ran : handOn(ran.text);
  },
});

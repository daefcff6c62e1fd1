import type { Interrupt } from '@nightshift/client';

import { askedOf } from './asked.js';

/** The commands that answer a request, for where nobody can be asked. */
export function howToAnswer(request: Interrupt): string[] {
  const command = `nightshift approve ${request.id}`;
  if (!request.mayDecide) return [];
  switch (request.kind) {
    case 'TOOL_APPROVAL':
      return askedOf(request).isApprovable ? [`${command} --yes`, `${command} --deny`] : [`${command} --deny`];
    case 'HUMAN_INPUT':
      return questionWords(askedOf(request).actions).map((words) => `${command} ${words}`);
    case 'UNKNOWN_OUTCOME':
      return [`${command} --decision happened|did_not_happen|repeat|report`];
    case 'CLIENT_TOOL':
    case 'WAIT':
      return [];
  }
}

function questionWords(actions: readonly string[]): string[] {
  const offered = actions.length === 0 ? ['SUBMIT', 'SKIP', 'REJECT'] : actions;
  return offered.map((action) => {
    if (action === 'SUBMIT') return "--data '…'";
    return `--action ${action.toLowerCase()}${action === 'MODIFY' || action === 'CUSTOM' ? " --data '…'" : ''}`;
  });
}

import { AppError } from '#platform';

export const invalidToolClaim = () => new AppError({ code: 'bad_request', message: 'Invalid tool claim' });

export const invalidToolResult = () => new AppError({ code: 'bad_request', message: 'Invalid tool result' });

export const clientToolsOff = () =>
  new AppError({ code: 'client_tools_off', message: 'Client tools are switched off on this server' });

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const resolve = createRequire(import.meta.url).resolve.bind(undefined);
const fileOf = (name: string, path: string) => join(dirname(resolve(`${name}/package.json`)), path);

/** The path of the page's files. The page itself is at `/graphql`. */
export const explorerFolder = '/explorer';

/** Files of the page as npm delivers them, each with its place on disk. */
export const explorerFiles: ReadonlyMap<string, string> = new Map([
  ['graphiql.js', fileOf('graphiql', 'graphiql.min.js')],
  ['graphiql.css', fileOf('graphiql', 'graphiql.min.css')],
  ['react.js', fileOf('react', 'umd/react.production.min.js')],
  ['react-dom.js', fileOf('react-dom', 'umd/react-dom.production.min.js')],
]);

/** Its lines fit next to the result in a window of 1,280 pixels. */
const example = `# 1. Put an API key into "Headers" below, after
#    "Bearer ". The key of the demo workspace is in
#    the file .nightshift/demo-api-key
# 2. Run this query: Ctrl-Enter, or the button.

query Jobs {
  jobs(first: 10) {
    nodes { id kind status createdAt }
  }
}
`;

/** The script and the style of the page itself. They are files, because the policy allows no inline script or style. */
export const explorerTexts: ReadonlyMap<string, { readonly type: 'js' | 'css'; readonly text: string }> = new Map([
  ['page.css', { type: 'css', text: 'body { margin: 0; } #explorer { height: 100vh; }\n' }],
  [
    'page.js',
    {
      type: 'js',
      text: `const send = GraphiQL.createFetcher({
  url: '/graphql',
  subscriptionUrl: location.origin.replace(/^http/, 'ws') + '/graphql',
  enableIncrementalDelivery: false,
});
// GraphiQL requests the schema when it gets another fetcher. With the schema null it requests none.
function Explorer() {
  const [credential, setCredential] = React.useState('');
  const fetcher = React.useCallback((...request) => send(...request), [credential]);
  return React.createElement(GraphiQL, {
    fetcher,
    schema: credential === '' ? null : undefined,
    onEditHeaders: (text) => setCredential(/"Bearer ([^"\\s]{20,})"/i.exec(text)?.[1] ?? ''),
    defaultQuery: ${JSON.stringify(example)},
    defaultHeaders: '{\\n  "authorization": "Bearer "\\n}',
    defaultEditorToolsVisibility: 'headers',
    shouldPersistHeaders: false,
  });
}
ReactDOM.createRoot(document.getElementById('explorer')).render(React.createElement(Explorer));
`,
    },
  ],
]);

/** Allows scripts, styles and connections of this origin only. Fonts and icons are data in the style sheet. */
export const explorerPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  'font-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const explorerHtml = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Nightshift GraphQL</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="${explorerFolder}/graphiql.css" />
    <link rel="stylesheet" href="${explorerFolder}/page.css" />
  </head>
  <body>
    <div id="explorer">Loading…</div>
    <noscript>This page needs JavaScript. The schema is in apps/api/schema.gql.</noscript>
    <script src="${explorerFolder}/react.js"></script>
    <script src="${explorerFolder}/react-dom.js"></script>
    <script src="${explorerFolder}/graphiql.js"></script>
    <script src="${explorerFolder}/page.js"></script>
  </body>
</html>
`;

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

const example = `# Put an API key into "Headers" below, then run this query.
# GraphiQL reads the schema with the same headers: reload it with the button on the lower left.

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
      text: `const fetcher = GraphiQL.createFetcher({
  url: '/graphql',
  subscriptionUrl: location.origin.replace(/^http/, 'ws') + '/graphql',
  enableIncrementalDelivery: false,
});
const root = ReactDOM.createRoot(document.getElementById('explorer'));
root.render(React.createElement(GraphiQL, {
  fetcher,
  defaultQuery: ${JSON.stringify(example)},
  defaultHeaders: '{\\n  "authorization": "Bearer "\\n}',
  defaultEditorToolsVisibility: 'headers',
  shouldPersistHeaders: false,
}));
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

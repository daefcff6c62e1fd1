// The layers of ARCHITECTURE.md as a failing build: imports go down only, a circle is an error.
const layers = [
  ['platform'],
  ['jobs', 'models', 'auth'],
  ['files'],
  ['tools'],
  ['approvals'],
  ['integrations'],
  ['chat'],
  ['workflows'],
  ['schedules'],
  ['triggers'],
];
const below = (level) => layers.slice(0, level).flat();
// The types that code of plugins is written with.
const plugin = '^packages/plugin/';
const mayImport = (path, libs) => ({
  severity: 'error',
  from: { path },
  to: { path: '^(libs|apps|packages)/', pathNot: [`^libs/(${libs.join('|')})/`, plugin] },
});
const layerRules = layers.flatMap((libs, level) =>
  libs.flatMap((lib) => [
    { name: `layer-${lib}`, ...mayImport(`^libs/${lib}/src/(?!api/)`, [lib, ...below(level)]) },
    // The API of a feature authenticates its callers.
    { name: `layer-${lib}-api`, ...mayImport(`^libs/${lib}/src/api/`, [lib, 'auth', ...below(level)]) },
  ]),
);
const rule = (name, from, to) => ({ name, severity: 'error', from, to });
// Clients of the public API: they may use the graphql-ws client like any user of Nightshift.
const clients = ['^test/', '^bench/', '^packages/client/', '^apps/launcher/src/sample/'];
// What a process of one application consists of: the launcher brings up the database and the signals, the application its role.
const entries = '^apps/(api|worker)/src/(?:main|start-[a-z]+-role)\\.ts$';
// The flags of the server and the file of its settings: shared by the command line and the launcher.
const serveCommand = '^apps/launcher/src/(serve-command|environment-file)\\.ts$';
module.exports = {
  forbidden: [
    ...layerRules,
    rule('no-circle', {}, { circular: true }),
    rule(
      'public-api-only',
      { path: '^(libs|apps|packages)/([^/]+)/' },
      { path: '^libs/', pathNot: ['^$1/$2/', '^libs/[^/]+/src/(api/)?index\\.ts$'] },
    ),
    rule('own-index-unused', { path: '^libs/([^/]+)/' }, { path: '^libs/$1/src/(api/)?index\\.ts$' }),
    // So a worker loads no transport: what it imports of a lib imports no API folder.
    rule(
      'api-folders-in-api',
      { pathNot: ['^apps/api/', '^libs/[^/]+/src/api/', '^(test|bench)/'] },
      { path: '^libs/[^/]+/src/api/' },
    ),
    rule(
      'apps-apart',
      { path: '^apps/([^/]+)/', pathNot: entries },
      { path: '^apps/', pathNot: ['^apps/$1/', serveCommand] },
    ),
    rule('serve-command-alone', { path: serveCommand }, { path: '^(libs|apps|packages)/' }),
    rule('entries-on-launcher', { path: entries }, { path: '^apps/', pathNot: ['^apps/$1/', '^apps/launcher/'] }),
    rule('cli-on-client', { path: '^apps/cli/' }, { path: '^(libs|packages)/', pathNot: '^packages/client/' }),
    rule('client-alone', { path: '^packages/client/' }, { path: '^(libs|apps|test|bench)/' }),
    rule(
      'plugin-alone',
      { path: plugin, pathNot: '\\.spec\\.ts$' },
      { pathNot: [plugin], dependencyTypesNot: ['core'] },
    ),
    // What a browser loads as well: nothing of Node, and of other packages one.
    rule(
      'client-anywhere',
      { path: '^packages/client/', pathNot: '\\.spec\\.ts$' },
      { pathNot: ['^packages/client/', 'node_modules/graphql-ws/'] },
    ),
    rule(
      'transports-in-api',
      { pathNot: ['^apps/api/', '^libs/[^/]+/src/api/', ...clients] },
      { path: 'node_modules/(@nestjs/(graphql|apollo|platform-express)|@apollo|express|graphql-(ws|sse))/' },
    ),
    rule(
      'sql-in-repositories',
      { pathNot: ['\\.repository\\.ts$', '^libs/platform/src/(prisma|postgres|bus)/', '^test/', '^bench/'] },
      { path: ['/generated/prisma/', 'node_modules/(pg|@prisma/[^/]+)/'], dependencyTypesNot: ['type-only'] },
    ),
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: ['node_modules', '/generated/'] },
    exclude: { path: '(^|/)dist/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['nightshift-source', 'import', 'types', 'default'],
    },
  },
};

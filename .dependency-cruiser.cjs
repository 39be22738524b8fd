/*
 * The import table of the architecture: imports point inwards. Each layer lists what it may see of our own code;
 * everything else under `src/`, `state-machines/`, `projections/` and `packages/` is out of bounds for it. Tests and
 * benches are free.
 */
const SRC = {
  domain: '^src/domain/',
  ports: '^src/ports/',
  runtime: '^src/runtime/',
  features: '^src/features/',
  shared: '^src/features/shared/',
  operator: '^src/operator/',
  http: '^src/http/',
  presenters: '^src/http/(presenters|schemas|routes/sandbox[.]routes)',
  schemas: '^src/http/schemas/',
  checkout: '^src/checkout/',
  console: '^src/console/',
  templates: '^src/checkout/(assets|qr)[.]ts$',
  cli: '^src/cli/',
  client: '^packages/client/',
  signer: '^src/signer/',
  sandbox: '^src/sandbox/',
  observability: '^src/observability/',
  config: '^src/config[.]ts$',
  main: '^src/main[.]ts$',
  machines: '^state-machines/',
  projections: '^projections/',
};
const OURS = '^(src|state-machines|projections|packages|plugins)/';

/** Which feature may know which other; all know `shared`, and nobody else is known. */
const FEATURES = {
  addresses: [],
  audit: ['ledger'],
  canary: [],
  deposits: [],
  ledger: ['sessions'],
  merchants: [],
  'payment-links': ['sessions', 'merchants'],
  payouts: [],
  people: [],
  sessions: ['merchants'],
  shared: [],
  treasury: ['payouts'],
  unmatched: ['payouts'],
  webhooks: ['sessions'],
};

const layer = (name, comment, path, allowed) => ({
  name,
  comment,
  severity: 'error',
  from: { path },
  to: { path: OURS, pathNot: [path, ...allowed] },
});

const noPackages = (name, path, except = []) => ({
  name,
  comment: `${path} runs without packages${except.length > 0 ? ` other than ${except.join(', ')}` : ''}`,
  severity: 'error',
  from: { path },
  to: {
    dependencyTypes: ['npm', 'npm-dev', 'npm-optional', 'npm-peer', 'npm-no-pkg', 'npm-unknown'],
    pathNot: except.map((it) => `node_modules/${it}/`),
  },
});

const feature = ([name, known]) =>
  layer(
    `feature-${name}`,
    `The feature ${name} knows ${['shared', ...known].join(', ')} and no other.`,
    `^src/features/${name}/`,
    [
      SRC.domain,
      SRC.ports,
      SRC.runtime,
      SRC.machines,
      SRC.projections,
      SRC.shared,
      ...known.map((other) => `^src/features/${other}/`),
    ],
  );

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'A cycle means two files are one concept, or one of them points outwards. Types count, too.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'resolvable',
      comment: 'An import that leads nowhere.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'declared-packages-only',
      comment: 'The product may use only packages that package.json installs for it.',
      severity: 'error',
      from: { path: OURS, pathNot: [SRC.sandbox] },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
    layer('domain', 'The words import nothing.', SRC.domain, []),
    noPackages('domain-packages', SRC.domain),
    layer('state-machines', 'Life cycles see the domain and xstate.', SRC.machines, [SRC.domain]),
    noPackages('state-machines-packages', SRC.machines, ['xstate']),
    layer('ports', 'Ports speak the words of the domain.', SRC.ports, [SRC.domain]),
    noPackages('ports-packages', SRC.ports),
    layer('projections', 'A projection turns an event into row changes.', SRC.projections, [SRC.domain, SRC.ports]),
    noPackages('projections-packages', SRC.projections),
    layer('runtime', 'Machinery without business words.', SRC.runtime, [SRC.domain, SRC.ports, SRC.machines]),
    {
      name: 'features-listed',
      comment: 'A new feature says in the table which others it knows.',
      severity: 'error',
      from: { path: '^src/features/([^/]+)/', pathNot: Object.keys(FEATURES).map((name) => `^src/features/${name}/`) },
      to: {},
    },
    ...Object.entries(FEATURES).map(feature),
    layer('operator', 'What operators can do; the command line, the admin API and the console call it.', SRC.operator, [
      SRC.domain,
      SRC.ports,
      SRC.runtime,
      SRC.machines,
      SRC.projections,
      SRC.features,
      SRC.presenters,
    ]),
    layer('http', 'The merchant API.', SRC.http, [SRC.domain, SRC.ports, SRC.runtime, SRC.projections, SRC.features]),
    layer('checkout', "The payer's page.", SRC.checkout, [
      SRC.domain,
      SRC.ports,
      SRC.runtime,
      SRC.projections,
      SRC.features,
    ]),
    layer(
      'console',
      "The pages for the people who run it: use cases, the operator's commands, and the templates of the payer's page.",
      SRC.console,
      [
        SRC.domain,
        SRC.ports,
        SRC.runtime,
        SRC.machines,
        SRC.projections,
        SRC.features,
        SRC.operator,
        SRC.presenters,
        SRC.templates,
      ],
    ),
    layer('cli', 'The command line; adapters come from main.ts.', SRC.cli, [
      SRC.domain,
      SRC.ports,
      SRC.runtime,
      SRC.projections,
      SRC.features,
      SRC.operator,
      SRC.sandbox,
      SRC.config,
      SRC.main,
    ]),
    layer('client', 'The client is a package of its own.', SRC.client, []),
    noPackages('client-packages', SRC.client),
    layer('plugins', 'A plugin is a program of its own that knows the client alone.', '^plugins/', [SRC.client]),
    layer('wire-schemas', 'Wire types are the public contract: words of the domain only.', SRC.schemas, [SRC.domain]),
    layer(
      'signer',
      'The holder of the keys sees as little as it can; the rules of the books are pure functions.',
      SRC.signer,
      [
        SRC.domain,
        SRC.ports,
        SRC.runtime,
        '^projections/ledger/(postings|treasury-postings|adjustment-postings|session-books)[.]ts$',
      ],
    ),
    layer('sandbox', 'Local chains and a test payer; adapters come from main.ts.', SRC.sandbox, [
      SRC.domain,
      SRC.ports,
      SRC.runtime,
      SRC.projections,
      SRC.features,
      SRC.config,
      SRC.main,
    ]),
    layer(
      'observability',
      'Metrics, health, traces and logs watch features and the HTTP side from outside.',
      SRC.observability,
      [SRC.domain, SRC.ports, SRC.runtime, SRC.projections, SRC.features, SRC.http],
    ),
    layer('config', 'Settings know the words only.', SRC.config, [SRC.domain, SRC.ports]),
    {
      name: 'adapters-inwards',
      comment: 'An adapter translates for a port: domain, ports, the machinery of the runtime and its own driver.',
      severity: 'error',
      from: { path: '^src/adapters/([^/]+)/' },
      to: { path: OURS, pathNot: ['^src/adapters/$1/', '^src/adapters/rpc/', SRC.domain, SRC.ports, SRC.runtime] },
    },
    {
      name: 'adapters-apart',
      comment: 'No adapter knows another one; all chains share the pool of providers in `adapters/rpc`.',
      severity: 'error',
      from: { path: '^src/adapters/([^/]+)/' },
      to: { path: '^src/adapters/', pathNot: ['^src/adapters/$1/', '^src/adapters/rpc/'] },
    },
    {
      name: 'composition-is-outermost',
      comment: 'Nothing but main.ts knows how the parts are put together.',
      severity: 'error',
      from: { path: OURS, pathNot: [SRC.main, '^src/composition/'] },
      to: { path: '^src/composition/' },
    },
    {
      name: 'main-names-adapters',
      comment: 'Only the composition root (main.ts and src/composition/) names adapters.',
      severity: 'error',
      from: { path: OURS, pathNot: [SRC.main, '^src/composition/', '^src/adapters/'] },
      to: { path: '^src/adapters/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      mainFields: ['module', 'main', 'types'],
    },
    detectProcessBuiltinModuleCalls: true,
  },
};

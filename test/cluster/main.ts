import { Cluster, networksNamed, NODES } from './cluster.ts';

/* `npm run cluster -- [network ...]`: the distributed profile as processes on this machine, until SIGINT or SIGTERM. */

const cluster = await Cluster.start({ networks: networksNamed(process.argv.slice(2)), logLevel: 'info' });
const merchant = await cluster.admin('merchant.create', { name: 'Demo shop', mode: 'test' });
const nodes = NODES.map(
  (name) => `  ${name.padEnd(9)} ops ${cluster.node(name).opsUrl}, log ${cluster.node(name).logFile}`,
);
process.stdout.write(
  [
    `The cluster runs; the store is ${cluster.target}.`,
    `  API       ${cluster.baseUrl} (by turns: ${cluster.node('api-1').baseUrl}, ${cluster.node('api-2').baseUrl})`,
    ...nodes,
    `  store     ${cluster.storeUrl}`,
    `  Redis     ${cluster.redis.url}`,
    `  merchant  ${JSON.stringify(merchant)}`,
    ...cluster.chains.chains.map(({ settings, rpcUrl }) => `  ${settings.network.padEnd(9)} ${rpcUrl}`),
    'Operator commands: DATA_DIR=<directory of a node> npx quittance ... ; end with Ctrl-C.',
    '',
  ].join('\n'),
);
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.removeAllListeners(signal);
  process.once(signal, () => void cluster.close().then(() => process.exit(0)));
}

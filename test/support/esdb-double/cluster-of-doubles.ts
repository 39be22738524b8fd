import { EsdbDouble } from './esdb-double.ts';

export interface ClusterOfDoubles {
  /** Names every node, so that the client must discover the leader. */
  readonly connectionString: string;
  readonly leader: EsdbDouble;
  /** No node knows a leader, until they restart. */
  loseLeader(): void;
  /** All nodes go away; the log stays. */
  stop(): Promise<void>;
  /** All nodes come back under their ports. */
  restart(): Promise<void>;
}

/** Nodes of one cluster on one log, the first of which leads. */
export async function startClusterOfDoubles(size: number): Promise<ClusterOfDoubles> {
  const first = await EsdbDouble.start();
  const { log } = first;
  let nodes = [first, ...(await Promise.all(Array.from({ length: size - 1 }, () => EsdbDouble.start({ log }))))];
  const ports = nodes.map(({ port }) => port);
  const join = (): void => {
    for (const node of nodes) node.gossipOf(nodes);
    for (const node of nodes.slice(1)) node.follow(nodes[0]!);
  };
  join();
  return {
    connectionString: `esdb://${ports.map((port) => `127.0.0.1:${port}`).join(',')}?tls=false`,
    leader: first,
    loseLeader: () => nodes.forEach((node) => node.gossipOf([])),
    stop: async () => void (await Promise.all(nodes.map((node) => node.stop()))),
    restart: async () => {
      nodes = await Promise.all(ports.map((port) => EsdbDouble.start({ log, port })));
      join();
    },
  };
}

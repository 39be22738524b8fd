import { setTimeout as sleep } from 'node:timers/promises';
import type { Member } from './control-messages.ts';
import type { ClientSettings, Endpoint, NodePreference } from './settings.ts';

/** `VNodeState` of gossip.proto. */
const FOLLOWER = 6;
const LEADER = 8;
const READ_ONLY = [12, 13, 14];
const SERVING = [FOLLOWER, LEADER, ...READ_ONLY];
const PREFERRED: Readonly<Record<NodePreference, readonly number[]>> = {
  leader: [LEADER],
  follower: [FOLLOWER],
  readonlyreplica: READ_ONLY,
  random: [],
};

export type AskMembers = (node: Endpoint) => Promise<readonly Member[]>;

/** No node of the cluster names one that could be used. */
class NoNode extends Error {
  override readonly name = 'NoNode';
}

/** Asks one node after the other which nodes there are, the one that failed last. Rejects with `NoNode`. */
export async function findNode(
  settings: ClientSettings,
  ask: AskMembers,
  failed: Endpoint | null,
  isOver: () => boolean,
): Promise<Endpoint> {
  let reason = '';
  for (let attempt = 1; attempt <= settings.maxDiscoverAttempts && !isOver(); attempt += 1) {
    for (const candidate of candidates(settings.endpoints, failed)) {
      try {
        const best = bestOf(await ask(candidate), settings.nodePreference);
        if (best) return best.endpoint;
        reason = 'no node serves';
      } catch (error) {
        reason = error instanceof Error ? error.message : 'no reason given';
      }
    }
    await sleep(settings.discoveryIntervalMs);
  }
  throw new NoNode(`no node of the event store was found in ${settings.maxDiscoverAttempts} attempts: ${reason}`);
}

function candidates(endpoints: readonly Endpoint[], failed: Endpoint | null): readonly Endpoint[] {
  const last = endpoints.filter((endpoint) => isSame(endpoint, failed));
  return [...shuffled(endpoints.filter((endpoint) => !isSame(endpoint, failed))), ...last];
}

function bestOf(members: readonly Member[], preference: NodePreference): Member | undefined {
  const serving = shuffled(members.filter(({ isAlive, state }) => isAlive && SERVING.includes(state)));
  return serving.find(({ state }) => PREFERRED[preference].includes(state)) ?? serving[0];
}

const isSame = (one: Endpoint, other: Endpoint | null): boolean => one.host === other?.host && one.port === other.port;

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ item }) => item);
}

import { processesOf } from './figures.ts';
import type { SoakReceiver } from './receiver.ts';

/** Something that is bad for a while, and then good again. */
export interface Fault {
  readonly name: string;
  readonly seconds: number;
  /** Answers what ends it. */
  readonly begin: () => () => void;
}

/** Stops the processes where they stand, as a machine does that is starved or a disk that hangs. */
function stopped(ancestor: number, command: string): () => void {
  const pids = processesOf(ancestor, command);
  if (pids.length === 0) throw new Error(`no process of ${command} runs`);
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  return () => {
    for (const pid of pids) process.kill(pid, 'SIGCONT');
  };
}

export const faultsOf = (ancestor: number, receiver: SoakReceiver): readonly Fault[] => [
  {
    name: 'the receiver answers 503',
    // Shorter than the quick retries take: what is exhausted is not sent again by itself.
    seconds: 12,
    begin: () => {
      receiver.isAway = true;
      return () => {
        receiver.isAway = false;
      };
    },
  },
  { name: 'Ethereum, BSC and TRON answer nothing', seconds: 40, begin: () => stopped(ancestor, '/anvil ') },
  { name: 'Solana answers nothing', seconds: 40, begin: () => stopped(ancestor, 'surfpool/child') },
  { name: 'the signer stands still', seconds: 30, begin: () => stopped(ancestor, 'signer/main') },
];

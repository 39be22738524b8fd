import { createRequire } from 'node:module';

/** A running Surfpool: a Solana runtime with RPC on ports it chooses. The package ships without typings. */
export interface Surfnet {
  readonly rpcUrl: string;
  readonly wsUrl: string;
  /** Empties the event buffer. The node stops when 1,024 events are waiting, so this must be called continuously. */
  drainEvents(): readonly unknown[];
  fundSol(address: string, lamports: number): void;
  setAccount(address: string, lamports: number, data: number[], owner: string): void;
  /** Creates the owner's associated token account when it is missing. */
  setTokenBalance(owner: string, mint: string, units: number): void;
  stop(): void;
}

export interface SurfnetConfig {
  readonly offline: boolean;
  /** `clock`: slots advance by themselves; in `transaction` mode nothing becomes final without traffic. */
  readonly blockProductionMode: 'clock' | 'transaction';
  readonly slotTimeMs: number;
}

interface SurfpoolAddon {
  readonly Surfnet: { startWithConfig(config: SurfnetConfig): Surfnet };
}

const PACKAGES: Readonly<Record<string, string>> = {
  'linux-x64': '@solana/surfpool-linux-x64-gnu',
  'darwin-arm64': '@solana/surfpool-darwin-arm64',
};

const require = createRequire(import.meta.url);

/** Path of the native addon for this platform; null when upstream provides none or it is not installed. */
export function findSurfpoolAddon(platform: string = process.platform, arch: string = process.arch): string | null {
  const name = PACKAGES[`${platform}-${arch}`];
  if (name === undefined) return null;
  try {
    return require.resolve(name);
  } catch {
    return null;
  }
}

/** Throws when the system cannot load it, such as one without glibc. */
export const loadSurfpoolAddon = (path: string): SurfpoolAddon => require(path) as SurfpoolAddon;

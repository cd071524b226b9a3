import fc from 'fast-check';
import { afterEach } from 'vitest';
import { cleanUp } from './cleanup.ts';
import { seed } from './depth.ts';
import { startHosting } from './hosted.ts';

// Runs before each file: all files of a worker share their modules, so a hook in a module would run for the first only.
afterEach(cleanUp);
startHosting();
fc.configureGlobal({ seed });

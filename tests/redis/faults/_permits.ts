/** So many fit into the workers' semaphore and, as readers, into their read-write lock, where a writer takes all. */
export const PERMITS = 3;
